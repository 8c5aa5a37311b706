n = int(input())
print(sum(map(abs, map(int, input().split()[:n]))))
