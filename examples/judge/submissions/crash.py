numbers = input().split()
print(sum(int(numbers[i]) for i in range(3)))
