while True:
    print("all work and no play makes a judge a dull process")
